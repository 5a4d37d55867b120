import { describe, expect, it } from 'vitest';
import { loadSettings } from '../config/index.ts';
import { networkPolicy } from './networkPolicy.ts';

const load = (env: Record<string, string> = {}) => loadSettings({ env, cwd: '/', homeDir: '/nonexistent' });

/** The same settings with these in force. */
async function loadWith(values: object) {
  const loaded = await load();
  const settings = { ...loaded.settings, ...values };
  return { ...loaded, settings, trusted: { ...loaded.trusted, settings } };
}

const OPERATOR = { allowedDomains: ['a.example'], hostMap: { 'a.example': '127.0.0.1:80' } };

describe('what a sandbox may reach', () => {
  it('is nobody when nobody says anything', async () => {
    expect(networkPolicy(await load(), {}, 'bubblewrap')).toEqual({
      network: 'none',
      networkIsDefault: true,
    });
  });

  it.each([
    { networkEnabled: false },
    { networkEnabled: false, allowedDomains: [] },
    { network: 'none' as const },
    { networkEnabled: false, network: 'none' as const },
  ])('is nobody with %j', async (options) => {
    const loaded = await loadWith({ ...OPERATOR, networkEnabled: true });
    expect(networkPolicy(loaded, options, 'bubblewrap')).toEqual({
      network: 'none',
      networkIsDefault: false,
    });
  });

  it.each([
    { networkEnabled: true },
    { network: 'allowlist' as const },
    { requires: { network: 'allowlist' as const } },
  ])("is the operator's list with %j", async (options) => {
    expect(networkPolicy(await loadWith(OPERATOR), options, 'bubblewrap')).toEqual({
      network: 'allowlist',
      networkIsDefault: false,
      egress: OPERATOR,
    });
  });

  it("is the operator's list without a word where the settings say so", async () => {
    const loaded = await loadWith({ ...OPERATOR, networkEnabled: true });
    expect(networkPolicy(loaded, {}, 'gvisor')).toMatchObject({
      network: 'allowlist',
      networkIsDefault: false,
    });
  });

  it("is the caller's list instead, with the operator's addresses", async () => {
    const { egress } = networkPolicy(
      await loadWith(OPERATOR),
      { networkEnabled: true, allowedDomains: ['b.example'] },
      'bubblewrap',
    );
    expect(egress).toEqual({ allowedDomains: ['b.example'], hostMap: OPERATOR.hostMap });
  });

  it('is nobody with an empty list', async () => {
    const { network, egress } = networkPolicy(await load(), { networkEnabled: true }, 'bubblewrap');
    expect({ network, egress }).toEqual({
      network: 'allowlist',
      egress: { allowedDomains: [], hostMap: {} },
    });
  });

  it('is everything only where that is said', async () => {
    const loaded = await loadWith({ dockerNetworkEnabled: true });
    expect(networkPolicy(loaded, {}, 'docker').network).toBe('open');
    expect(networkPolicy(loaded, {}, 'bubblewrap').network).toBe('none');
    expect(networkPolicy(loaded, { networkEnabled: true }, 'docker').network).toBe('allowlist');
    expect(networkPolicy(await load(), { network: 'open' }, 'bubblewrap').network).toBe('open');
  });

  it.each([
    { networkEnabled: false, allowedDomains: ['a.example'] },
    { networkEnabled: false, network: 'open' as const },
    { networkEnabled: false, network: 'allowlist' as const },
    { networkEnabled: true, network: 'none' as const },
    { network: 'none' as const, allowedDomains: ['a.example'] },
    { network: 'open' as const, allowedDomains: ['a.example'] },
    { allowedDomains: ['*'] },
    { allowedDomains: ['https://a.example'] },
    { allowedDomains: ['127.0.0.1'] },
  ])('is not guessed from %j', async (options) => {
    const loaded = await load();
    expect(() => networkPolicy(loaded, options, 'bubblewrap')).toThrow(
      expect.objectContaining({ code: 'INPUT_INVALID' }),
    );
  });
});
