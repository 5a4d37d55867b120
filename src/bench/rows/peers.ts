/**
 * Packages of others that do the same work, as their users call them (docs/benchmarks.md says what they do beyond ours
 * and what not).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { bareProcess } from '../bareProcess.ts';
import { compare, type Subject, timePairs } from '../pairs.ts';
import type { Bench, Measured, NotMeasured, Row } from '../row.ts';
import { BARE_PYTHON, expectOutput, PYTHON } from './programs.ts';

const PACKAGE = '@anthropic-ai/sandbox-runtime';

type Peer = typeof import('@anthropic-ai/sandbox-runtime');

/** No network, and one folder that can be written, as a sandbox of ours has it. */
function closed(folder: string) {
  return {
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [], allowWrite: [folder], denyWrite: [] },
  };
}

export const PEER_ROWS: readonly Row[] = [
  {
    name: 'srt.python.cold',
    what: `print(1) as ${PACKAGE} runs it from a program: wrapWithSandbox and a shell, without network.`,
    unit: 'ms',
    async measure(bench) {
      const peer = await load();
      if ('status' in peer) return peer;
      const { SandboxManager } = peer;
      const workspace = emptyFolder(bench);
      try {
        await SandboxManager.initialize(closed(workspace));
        const command = `'${await bench.interpreter('python')}' -c '${PYTHON.code}'`;
        return await beside(bench, async () => {
          const wrapped = await SandboxManager.wrapWithSandbox(command);
          const output = await bareProcess('/bin/sh', ['-c', wrapped], { cwd: workspace });
          SandboxManager.cleanupAfterCommand();
          expectOutput(output, PYTHON.prints);
        });
      } finally {
        await SandboxManager.reset();
      }
    },
  },
  {
    name: 'srt.cli.python.cold',
    what: `print(1) by the command line of ${PACKAGE}, srt, without network.`,
    unit: 'ms',
    async measure(bench) {
      const peer = await load();
      if ('status' in peer) return peer;
      const workspace = emptyFolder(bench);
      const settings = join(bench.folder, 'srt-settings.json');
      writeFileSync(settings, JSON.stringify(closed(workspace)));
      const program = createRequire(import.meta.url).resolve(`${PACKAGE}/dist/cli.js`);
      const python = await bench.interpreter('python');
      const args = [program, '--settings', settings, '-c', `'${python}' -c '${PYTHON.code}'`];
      return beside(bench, async () =>
        expectOutput(await bareProcess(process.execPath, args, { cwd: workspace }), PYTHON.prints),
      );
    },
  },
];

/** The package, where it is installed and finds what it needs. */
async function load(): Promise<Peer | NotMeasured> {
  const peer = await import('@anthropic-ai/sandbox-runtime').catch((error: Error) => error);
  if (peer instanceof Error) {
    return {
      status: 'skipped',
      reason: `The package ${PACKAGE} cannot be loaded: ${peer.message}`,
      fix: `Run: npm install ${PACKAGE}`,
    };
  }
  if (!peer.SandboxManager.isSupportedPlatform()) {
    return { status: 'skipped', reason: `${PACKAGE} does not know this platform.` };
  }
  const { errors } = await peer.SandboxManager.checkDependenciesAsync();
  if (errors.length === 0) return peer;
  return {
    status: 'skipped',
    reason: `${PACKAGE} does not find what it needs: ${errors.join(', ')}.`,
    fix: 'Install what it names from the system, for example: apt-get install bubblewrap socat ripgrep',
  };
}

async function beside(bench: Bench, ours: Subject): Promise<Measured> {
  const { pairs, progress, signal } = bench;
  const baseline = await BARE_PYTHON.subject(bench);
  const compared = compare(await timePairs({ pairs, progress, signal, ours, baseline }));
  return {
    status: 'measured',
    ...compared,
    baseline: { ...compared.baseline, what: BARE_PYTHON.what },
  };
}

function emptyFolder({ folder }: Bench): string {
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace, { recursive: true });
  return workspace;
}
