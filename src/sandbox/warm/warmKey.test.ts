import { describe, expect, it } from 'vitest';
import type { Policy } from '../../policy/policy.ts';
import { type WarmKind, warmKey } from './warmKey.ts';

const limit = (value: number) => ({ value, default: true });

const POLICY: Policy = {
  network: 'none',
  networkIsDefault: true,
  limits: { memoryMb: limit(512), diskMb: limit(256), processes: limit(64), timeoutSec: limit(30) },
  requires: {},
};

const KIND: WarmKind = { policy: POLICY, languages: ['python'], language: 'python', preload: [] };

const others: Readonly<Record<string, WarmKind>> = {
  language: { ...KIND, language: 'javascript' },
  'shown languages': { ...KIND, languages: ['python', 'shell'] },
  preload: { ...KIND, preload: ['numpy'] },
  network: policy({ network: 'open' }),
  'whether somebody asked for the network': policy({ networkIsDefault: false }),
  'allowed domains': policy({ egress: { allowedDomains: ['a.org'], hostMap: {} } }),
  'host map': policy({ egress: { allowedDomains: [], hostMap: { 'a.org': '127.0.0.1:1' } } }),
  memory: limits({ memoryMb: limit(511) }),
  disk: limits({ diskMb: limit(1) }),
  processes: limits({ processes: limit(63) }),
  timeout: limits({ timeoutSec: limit(29) }),
  'whether somebody asked for a limit': limits({ memoryMb: { value: 512, default: false } }),
  cpu: limits({ cpu: limit(0.5) }),
  'required isolation': policy({ requires: { isolation: 'namespace' } }),
  'required network': policy({ requires: { network: 'none' } }),
  'required files': policy({ requires: { filesystem: 'private' } }),
  'required containment': policy({ requires: { processes: 'contained' } }),
  'required seccomp': policy({ requires: { seccomp: true } }),
  'required limits': policy({ requires: { limits: ['cpu'] } }),
};

function policy(changes: Partial<Policy>): WarmKind {
  return { ...KIND, policy: { ...POLICY, ...changes } };
}

function limits(changes: Partial<Policy['limits']>): WarmKind {
  return policy({ limits: { ...POLICY.limits, ...changes } });
}

describe('warmKey', () => {
  it('is the same for the same kind, in whatever order its fields are written', () => {
    const { requires, limits: own, network, networkIsDefault } = POLICY;
    const again: WarmKind = {
      ...{ preload: [], language: 'python', languages: ['python'] },
      policy: { requires, limits: own, networkIsDefault, network },
    };
    expect(warmKey(again)).toBe(warmKey(KIND));
  });

  it('differs with everything that matters', () => {
    const keys = Object.entries({ same: KIND, ...others }).map(([name, kind]) => [warmKey(kind), name]);
    expect(new Map(keys as [string, string][]).size).toBe(keys.length);
  });
});
