import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningServer } from '../../src/http/server.ts';
import { connect, type NetworkDecision } from '../../src/index.ts';
import { describeWith } from '../e2e/support/needs.ts';
import { KEYS, makeSurroundings, startTestServer } from './support.ts';

describeWith(['bubblewrap'], 'a server that asks a person', () => {
  const surroundings = makeSurroundings();
  let server: RunningServer;

  beforeAll(async () => {
    const { configFile } = surroundings;
    const settings = readFileSync(configFile, 'utf8').replace("gate: 'off'", 'gate: strict');
    writeFileSync(configFile, `${settings}    network:\n      allowed_domains: [listed.test]\n`);
    server = await startTestServer(surroundings);
  });
  afterAll(async () => {
    await server.close({ drainSec: 0 });
    surroundings[Symbol.dispose]();
  });

  /** Answers the next question, and resolves to what was asked for. */
  async function answer(approved: boolean): Promise<string> {
    const approvals = await server.parts.approvals();
    await expect.poll(() => approvals.waiting().length, { timeout: 10_000 }).toBe(1);
    const [question] = approvals.waiting();
    if (question === undefined) throw new Error('Nobody asks.');
    approvals.answer(question, { approved });
    return question.operation;
  }

  const CODE = 'import urllib.request\nurllib.request.urlopen("http://not-listed.test")';

  it('runs what is approved, and tells of the network when it is over', async () => {
    await using client = connect(server.url, { apiKey: KEYS.one });
    const decisions: NetworkDecision[] = [];
    const going = client.execute(CODE, { networkEnabled: true, onNetwork: (one) => decisions.push(one) });
    expect(await answer(true)).toBe('execute');
    const { outcome, meta } = await going;
    expect(outcome).toBe('exited');
    expect(decisions).toMatchObject([{ host: 'not-listed.test', allowed: false, code: 'not_listed' }]);
    expect(decisions).toEqual(meta.network?.decisions);
  });

  it('does not run what is denied, and throws for what is no execution', async () => {
    await using client = connect(server.url, { apiKey: KEYS.one });
    const going = client.execute(CODE);
    await answer(false);
    expect(await going).toMatchObject({ outcome: 'denied', exitCode: 1, ok: false });
    const making = client.createSandbox().catch((error: unknown) => error);
    expect(await answer(false)).toBe('create_sandbox');
    expect(await making).toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(await client.list()).toEqual([]);
  });
});
