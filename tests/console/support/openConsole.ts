import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdaptorServer } from '@hono/node-server';
import { consoleApp } from '../../../src/console/app.ts';
import type { ConsoleKey } from '../../../src/console/backend.ts';
import { Approvals } from '../../../src/operations/approvals.ts';
import { AuditTrail } from '../../../src/operations/auditTrail.ts';
import { createContext } from '../../../src/operations/context.ts';
import type { CellOptions } from '../../../src/operations/contexts.ts';
import type { LiveSandbox } from '../../../src/operations/liveSandbox.ts';
import { SandboxManager } from '../../../src/operations/sandboxManager.ts';
import { type OperationsBackend, operationsBackend, type TestKey } from './operationsBackend.ts';

/** Who answers, and for whom it is asked. */
export const PERSON: TestKey = {
  ...{ id: 'key-person', name: 'person', scopes: ['approve', 'audit'], secret: 'a-secret-of-the-person' },
};
export const AGENT: TestKey = {
  ...{ id: 'key-agent', name: 'agent', scopes: ['execute'], secret: 'a-secret-of-the-agent' },
};

export interface OpenConsole extends AsyncDisposable {
  readonly url: string;
  readonly backend: OperationsBackend;
  readonly folder: string;
  /** A live sandbox of the agent's key. */
  sandbox(id: string): Promise<LiveSandbox>;
  /** Runs code there as the agent's execution; shell code is asked about first. */
  run(
    sandbox: LiveSandbox,
    language: string,
    code: string,
  ): { readonly id: string; readonly done: Promise<void> };
  /** Runs a cell of Python there. */
  runCell(sandbox: LiveSandbox, code: string): { readonly id: string; readonly done: Promise<void> };
}

/** Shell code is of a critical risk here, so that something is asked about which does no harm. */
const SETTINGS = (folder: string): string => `security:
  sandbox:
    runtime: bubblewrap
    store_code: never
    audit: 'on'
    audit_dir: ${join(folder, 'audit')}
    gate: ask-on-danger
    hitl:
      rules:
        - id: no-shell
          description: A shell script is run.
          tools: [code_execute]
          when: [{ equals: { language: shell } }]
          level: CRITICAL
          ask: true
          timeout_sec: 120
          examples:
            matching: [{ parameters: { language: shell } }]
            missing: [{ parameters: { language: python } }]
`;

/** A console over real sandboxes, questions and records, in folders of its own. */
export async function openConsole(): Promise<OpenConsole> {
  const folder = mkdtempSync(join(tmpdir(), 'console-test-'));
  const home = join(folder, 'home');
  mkdirSync(home, { mode: 0o700 });
  const configFile = join(folder, 'glovebox.yaml');
  writeFileSync(configFile, SETTINGS(folder));
  const env = { ...process.env, SANDBOX_PYTHON: '/usr/bin/python3', XDG_STATE_HOME: join(folder, 'state') };
  const surroundings = { configFile, env, homeDir: home, cwd: folder };
  const context = await createContext({ ...surroundings, caller: () => AGENT.id });
  const manager = new SandboxManager({ onEvent: () => backend.tell('sandboxes') });
  const owners = new Map<string, ConsoleKey>();
  const backend = operationsBackend({
    ...{ keys: [PERSON, AGENT], manager, owners },
    approvals: await Approvals.open(surroundings, () => {}),
    trail: await AuditTrail.open(surroundings),
  });
  const server = createAdaptorServer({ fetch: consoleApp(backend).fetch }) as Server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const about = ({ id }: LiveSandbox, language: string) => ({ keyName: AGENT.name, sandboxId: id, language });
  return {
    ...{ backend, folder },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async sandbox(id) {
      owners.set(id, AGENT);
      return manager.get(await manager.createSandboxWith(context, { sandboxId: id }));
    },
    run: (sandbox, language, code) =>
      backend.journal.run(about(sandbox, language), ({ onOutput }) =>
        sandbox.execute(code, { language, onOutput }),
      ),
    runCell: (sandbox, code) =>
      backend.journal.run(about(sandbox, 'python'), async (told: CellOptions) => {
        await using python = await sandbox.context('python');
        return await python.execute(code, told);
      }),
    async [Symbol.asyncDispose]() {
      // Whoever waits for an answer keeps what he asked in from ending.
      for (const { question } of await backend.questions())
        await backend.answer(question.id, question.hash, { approved: false }, PERSON);
      await manager.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
