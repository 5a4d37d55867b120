import { describe, expect, it } from 'vitest';
import { assess } from '../gate/risk.ts';
import { presetRules } from '../gate/rules.ts';
import { INSTALLERS } from '../languages/installers/index.ts';
import { describeInstallation } from './installPackage.ts';

function described(addresses: readonly [string, ...string[]], registry: 'pypi' | 'npm' = 'pypi') {
  return describeInstallation({
    installer: INSTALLERS[registry],
    package: { text: 'requests', name: 'requests' },
    registry: { addresses, hosts: ['pypi.org:443'] },
    ...{ allowScripts: false, timeoutSec: 120 },
  });
}

function levelOf(parameters: Readonly<Record<string, unknown>>) {
  return assess(presetRules('ask-on-danger'), { operation: 'install_package', parameters, effects: [] });
}

describe('an installation', () => {
  it('is told by the name of a registry that everybody uses, and its address', () => {
    expect(described(['https://pypi.org/simple/'])).toEqual({
      ...{ package: 'requests', language: 'python', registry: 'pypi' },
      ...{ addresses: ['https://pypi.org/simple/'], hosts: ['pypi.org:443'] },
      ...{ allow_scripts: false, timeout_sec: 120 },
    });
    expect(levelOf(described(['https://pypi.org/simple']))).toMatchObject({ level: 'HIGH', ask: false });
    expect(levelOf(described(['https://registry.npmjs.org/'], 'npm'))).toMatchObject({ level: 'HIGH' });
  });

  it.each<[string, readonly [string, ...string[]], 'pypi' | 'npm']>([
    ['another registry', ['https://packages.example.com/simple'], 'pypi'],
    ['a further index', ['https://pypi.org/simple', 'https://packages.example.com/simple'], 'pypi'],
    ['the same host without TLS', ['http://pypi.org/simple'], 'pypi'],
    ['the registry of another language', ['https://pypi.org/simple'], 'npm'],
  ])('from %s is told by the address, and asked about as critical', (_, addresses, registry) => {
    const parameters = described(addresses, registry);
    expect(parameters).toMatchObject({ addresses, registry: addresses.at(-1) });
    expect(levelOf(parameters)).toMatchObject({ level: 'CRITICAL', ask: true, rule: 'unusual-registry' });
  });
});
