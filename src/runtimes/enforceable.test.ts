import { describe, expect, it } from 'vitest';
import type { Policy } from '../policy/policy.ts';
import { assertEnforceable, assertHeld, unmetBy } from './enforceable.ts';
import type { Capabilities, Enforced } from './runtime.ts';

const NAMESPACED: Capabilities = {
  isolation: 'namespace',
  network: ['none', 'open'],
  filesystem: 'private',
  processes: 'contained',
  seccomp: true,
  limits: { memoryMb: 'cgroup', diskMb: 'tmpfs', processes: 'cgroup', cpu: 'cgroup', timeoutSec: 'timer' },
};

const PLAIN: Capabilities = {
  isolation: 'process',
  network: ['open'],
  filesystem: 'host',
  processes: 'best-effort',
  seccomp: false,
  limits: { memoryMb: 'rlimit', diskMb: 'none', processes: 'none', cpu: 'none', timeoutSec: 'timer' },
};

const DEFAULTS: Policy = {
  network: 'none',
  networkIsDefault: true,
  limits: {
    memoryMb: { value: 512, default: true },
    diskMb: { value: 256, default: true },
    processes: { value: 64, default: true },
    timeoutSec: { value: 30, default: true },
  },
  requires: {},
};

function asking(policy: Partial<Policy>): Policy {
  return { ...DEFAULTS, ...policy };
}

describe('keep or refuse', () => {
  it('lets defaults through that a plain process cannot hold: the result reports them', () => {
    expect(unmetBy(PLAIN, DEFAULTS)).toEqual([]);
  });

  it.each<[string, Partial<Policy>, RegExp]>([
    ['an isolation floor', { requires: { isolation: 'namespace' } }, /isolation of at least "namespace"/],
    ['a closed network', { network: 'none', networkIsDefault: false }, /network "none"/],
    ['a required closed network', { requires: { network: 'none' } }, /network "none"/],
    ['a private file system', { requires: { filesystem: 'private' } }, /private file system/],
    ['containment', { requires: { processes: 'contained' } }, /outlives its run/],
    ['a seccomp filter', { requires: { seccomp: true } }, /seccomp/],
    ['a disk limit', { limits: { ...DEFAULTS.limits, diskMb: { value: 5, default: false } } }, /diskMb of 5/],
    ['a required default', { requires: { limits: ['processes'] } }, /processes of 64/],
    [
      'a share of the processor',
      { limits: { ...DEFAULTS.limits, cpu: { value: 1, default: false } } },
      /cpu of 1/,
    ],
  ])('refuses %s that a plain process cannot hold, and namespaces hold it', (_, policy, what) => {
    expect(unmetBy(PLAIN, asking(policy)).map((unmet) => unmet.what)).toEqual([expect.stringMatching(what)]);
    expect(unmetBy(NAMESPACED, asking(policy))).toEqual([]);
  });

  it.each([
    ['namespace', /bubblewrap/],
    ['container', /SANDBOX_TYPE=docker/],
    ['kernel', /SANDBOX_TYPE=gvisor/],
    ['machine', /SANDBOX_MIN_ISOLATION=kernel/],
  ] as const)('tells what gives an isolation of %s', (isolation, fix) => {
    const unmet = unmetBy(PLAIN, asking({ requires: { isolation } }));
    expect(unmet).toEqual([{ what: expect.stringContaining(isolation), fix: expect.stringMatching(fix) }]);
  });

  it('refuses an allowlist and a kernel of its own where there are only namespaces', () => {
    const policy = asking({
      network: 'allowlist',
      networkIsDefault: false,
      requires: { isolation: 'kernel' },
    });
    expect(unmetBy(NAMESPACED, policy)).toHaveLength(2);
  });

  it.each(['memoryMb', 'processes', 'cpu'] as const)(
    'tells for the limit %s what the user of an engine can do about it, as for a host',
    (name) => {
      const limits = { ...NAMESPACED.limits, [name]: 'none' as const };
      const [{ fix } = { fix: '' }] = unmetBy(
        { ...NAMESPACED, limits },
        asking({ requires: { limits: [name] } }),
      );
      expect(fix).toMatch(
        /^Run where a cgroup.*is writable.*systemctl edit user@\.service, Delegate=cpu cpuset io/,
      );
    },
  );

  it('names every reason at once, each with its fix', () => {
    const policy = asking({ requires: { isolation: 'namespace', seccomp: true } });
    expect(() => assertEnforceable('local', PLAIN, policy)).toThrow(
      expect.objectContaining({
        code: 'POLICY_NOT_ENFORCEABLE',
        message: expect.stringMatching(/isolation.*; a seccomp filter/),
        hint: expect.stringContaining('bubblewrap'),
      }),
    );
  });
});

describe('what turned out to be held', () => {
  const enforced: Enforced = {
    ...NAMESPACED,
    network: 'none',
    uid: 1,
    limits: {
      memoryMb: { value: 512, by: 'cgroup', default: true },
      diskMb: { value: 256, by: 'tmpfs', default: true },
      processes: { value: 64, by: 'cgroup', default: true },
      cpu: { value: null, by: 'none', default: true },
      timeoutSec: { value: 30, by: 'timer', default: true },
    },
  };
  const policy = asking({ requires: { isolation: 'namespace', seccomp: true }, networkIsDefault: false });

  it('is accepted when it is all that was asked for', () => {
    expect(() => assertHeld('x', enforced, policy)).not.toThrow();
  });

  it.each<[string, Partial<Enforced>]>([
    ['isolation', { isolation: 'process' }],
    ['the network', { network: 'open' }],
    ['the filter', { seccomp: false }],
  ])('is refused when %s is less', (_, less) => {
    expect(() => assertHeld('x', { ...enforced, ...less }, policy)).toThrow(
      expect.objectContaining({ code: 'SANDBOX_FAILED' }),
    );
  });
});
