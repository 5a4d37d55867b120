/** The commands for sandboxes that live on, in surroundings of their own for each test. */
import { expect } from 'vitest';
import { useBackgroundProcesses } from './backgroundProcesses.ts';
import { useCommand } from './command.ts';

/** For one file of tests. */
export function useSandboxCommands() {
  const glovebox = useCommand();
  const background = useBackgroundProcesses(glovebox);

  /** Runs it, and expects it to succeed without a word on standard error but the one about plain processes. */
  async function succeed(...args: string[]): Promise<string> {
    const { status, stdout, stderr } = await glovebox.run(['sandbox', ...args]);
    const told = stderr.replace(/^glovebox: warning: The code runs as a plain process.*\n/, '');
    expect({ args, status, told }).toEqual({ args, status: 0, told: '' });
    return stdout;
  }

  async function create(...flags: string[]): Promise<string> {
    const printed = await succeed('create', ...flags);
    expect(printed).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\n$/);
    return printed.trimEnd();
  }

  async function listed(): Promise<string[]> {
    return JSON.parse(await succeed('list', '--json')).sandboxes.map(({ id }: { id: string }) => id);
  }

  /** Every command with its error as JSON. */
  async function fail(...args: string[]): Promise<{ status: number | null; code: string; message: string }> {
    const { status, stdout, stderr } = await glovebox.run(['sandbox', ...args]);
    const [, message = '', hint = ''] = /^glovebox: (.*)\n {2}(.*)\n$/.exec(stderr) ?? [];
    expect({ stdout, hint }).toEqual({ stdout: '', hint: expect.stringMatching(/./) });
    const asJson = await glovebox.run(['sandbox', ...args, '--json']);
    const { code } = JSON.parse(asJson.stdout).error;
    expect({ status: asJson.status, stderr: asJson.stderr }).toEqual({ status, stderr: '' });
    return { status, code, message };
  }

  return { glovebox, background, succeed, create, listed, fail };
}
