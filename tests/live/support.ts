/** What the tests of live sandboxes share. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { type CreateSandboxOptions, createSandbox, type LiveSandbox } from '../../src/index.ts';
import { eventually } from '../support/eventually.ts';
import { TARGETS, type Target } from '../support/targets.ts';
import { childrenOf, NO_TRACES, type Traces, tracesOf } from '../support/traces.ts';

/** A folder for artifacts and settings, so that neither those of this checkout nor of its user are touched. */
export const scratch = mkdtempSync(join(tmpdir(), 'live-test-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** One of each kind: namespaces are the same code under either name. */
export const EACH_KIND: readonly Target[] = TARGETS.filter(({ name }) => name !== 'local with namespaces');

export function open({ runtime }: Target, options: CreateSandboxOptions = {}): Promise<LiveSandbox> {
  return createSandbox({ runtime, cwd: scratch, ...options });
}

interface Left extends Traces {
  readonly children: number;
}

/** Waits until this process has left nothing: no folder, cgroup, mount, container, and no child. */
export async function expectNothingLeft(): Promise<void> {
  const left = (): Left => ({ ...tracesOf(process.pid), children: childrenOf(process.pid).length });
  const nothing: Left = { ...NO_TRACES, children: 0 };
  await eventually(
    `nothing is left, of ${JSON.stringify(left())}`,
    () => JSON.stringify(left()) === JSON.stringify(nothing),
  );
}
