import { describe, expect, it } from 'vitest';
import type { NetworkDecision } from '../egress/decision.ts';
import { INSTALLERS } from '../languages/installers/index.ts';
import { installMessage } from './installMessage.ts';
import type { RunOutcome } from './run.ts';

function message(
  registry: 'pypi' | 'npm',
  log: string,
  outcome: Partial<RunOutcome> = {},
  decisions: readonly Partial<NetworkDecision>[] = [],
): string {
  const nothing = { text: '', bytes: 0, truncated: false };
  const defaults: RunOutcome = {
    outcome: 'exited',
    exitCode: 1,
    durationSec: 1,
    stdout: nothing,
    stderr: nothing,
  };
  const base: NetworkDecision = {
    ...{ at: '', host: 'index.example', port: 443, via: 'connect', allowed: true },
    ...{ bytesUp: 0, bytesDown: 0, durationSec: 0 },
  };
  return installMessage({
    ...{ package: 'x==1', installer: INSTALLERS[registry], timeoutSec: 120, memoryMb: 512 },
    installed: {
      outcome: { ...defaults, ...outcome },
      log,
      network: { decisions: decisions.map((decision) => ({ ...base, ...decision })), dropped: 0 },
    },
  });
}

describe('what is told of an installation', () => {
  it('is how it was ended', () => {
    expect(message('pypi', '', { outcome: 'cancelled' })).toBe('The installation of x==1 was cancelled.');
    expect(message('pypi', '', { outcome: 'timed_out' })).toBe(
      'The installation of x==1 was ended after 120 seconds. Give it a longer timeout.',
    );
    expect(message('npm', '', { outcome: 'out_of_memory' })).toContain('more than the 512 MB of memory');
    expect(message('npm', '', { outcome: 'killed', exitCode: 139 })).toContain('signal 11');
  });

  it('is that it went well', () => {
    expect(message('pypi', 'ERROR: nothing', { exitCode: 0 })).toBe('x==1 is installed.');
  });

  it.each([
    [
      'pypi',
      'ERROR: Could not find a version that satisfies the requirement x==1 (from versions: none)\nERROR: No matching distribution found for x==1',
      'nothing called x==1',
    ],
    [
      'pypi',
      'ERROR: Could not find a version that satisfies the requirement x==1 (from versions: 2.0, 2.1rc1)',
      'not in a version',
    ],
    [
      'pypi',
      'ERROR: Ignored the following versions that require a different python version: 1.0 Requires-Python >=3.13',
      'do not run on the Python',
    ],
    ['pypi', 'ERROR: ResolutionImpossible: for help visit', 'contradicts itself'],
    [
      'pypi',
      'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device',
      'larger diskMb',
    ],
    [
      'pypi',
      "Can not perform a '--user' install. User site-packages are not visible in this virtualenv.",
      'SANDBOX_PYTHON',
    ],
    [
      'pypi',
      'SSLError(SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED]"))',
      'certificate is not trusted',
    ],
    ['pypi', 'ERROR: Failed building wheel for x', 'could not be built'],
    ['npm', 'npm error code E404\nnpm error 404 Not Found', 'nothing called x==1'],
    ['npm', 'npm ERR! code ETARGET', 'not in the version'],
    ['npm', 'npm error code ENOSPC', 'larger diskMb'],
    ['npm', 'npm error code ERESOLVE', 'contradicts what is installed'],
    ['npm', 'npm error code EINTEGRITY', 'something else than it had promised'],
    ['npm', 'npm error code SELF_SIGNED_CERT_IN_CHAIN', 'certificate is not trusted'],
    ['npm', 'npm error code UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'certificate is not trusted'],
  ] as const)('names the reason that %s gives: %s', (registry, log, expected) => {
    const told = message(registry, log);
    expect(told).toMatch(/^x==1 was not installed\. /);
    expect(told).toContain(expected);
  });

  it('is how to get the package manager where there is none', () => {
    expect(message('pypi', 'There is no pip for /usr/bin/python3\n', { exitCode: 127 })).toBe(
      'x==1 was not installed. This sandbox has no pip. The operator can bring it: python3-pip on the host for runtimes that use its Python (apt-get install python3-pip), or an image built by: glovebox images build',
    );
    expect(message('npm', 'There is no npm for /usr/bin/node\n', { exitCode: 127 })).toContain(
      'This sandbox has no npm.',
    );
    expect(message('npm', 'sh: something: not found\n', { exitCode: 127 })).not.toContain('has no npm');
  });

  it('is who was asked for and is not the registry, before what the package manager makes of it', () => {
    const decisions = [
      {},
      {
        host: 'evil.example',
        port: 80,
        allowed: false,
        code: 'not_listed' as const,
        reason: 'Glovebox: no.',
      },
    ];
    expect(message('pypi', 'ERROR: No matching distribution found', {}, decisions)).toContain(
      'It asked for evil.example on port 80',
    );
    expect(message('pypi', '', { outcome: 'timed_out' }, decisions)).toContain(
      'It asked for evil.example on port 80',
    );
  });

  it('is that the registry could not be reached, unless it was', () => {
    const failed = {
      code: 'unreachable' as const,
      reason: 'Glovebox: "index.example" on port 443 refuses connections.',
    };
    expect(message('npm', 'npm error code ECONNRESET', {}, [failed])).toBe(
      'x==1 was not installed. Its registry could not be reached. "index.example" on port 443 refuses connections.',
    );
    expect(message('npm', 'npm error code E404', {}, [failed, {}])).toContain('nothing called x==1');
  });

  it('is the last line of an error otherwise, as plain text that is not long', () => {
    const log = `npm error code EWHATEVER\nnpm error \u001b[31mignore\u202e all\u0007 ${'x'.repeat(1000)}\nnpm error A complete log of this run can be found in: /tmp/x\n`;
    const told = message('npm', log);
    expect(told).toMatch(/^x==1 was not installed\. It says: \[31mignore all x+\.\.\.$/);
    expect(told.length).toBeLessThan(400);
    expect(message('npm', 'nothing of use')).toBe(
      'x==1 was not installed. npm ended with 1; the log says more.',
    );
  });
});
