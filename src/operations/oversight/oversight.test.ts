import { describe, expect, it } from 'vitest';
import type { RecordedEvent, Recorder } from '../../audit/events.ts';
import { SandboxError } from '../../errors.ts';
import { Oversight, type Passage } from './oversight.ts';

const SECRET = 'correct horse battery';

/** What is recorded of a request with a variable whose value must not be in it. */
async function recordedOf(
  take: (passage: Passage) => Promise<unknown>,
  secrets: readonly string[] = [SECRET],
): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  const recorder: Recorder = {
    async append(event) {
      events.push(event);
      return { seq: events.length, hash: '0'.repeat(64) };
    },
  };
  const oversight = new Oversight({ surface: 'library', recorder });
  await take(
    oversight.request({ id: 'ended', operation: 'execute', sandboxId: null, parameters: {}, secrets }),
  );
  return events;
}

describe('what is recorded of a request', () => {
  it('has no value of its variables, whatever comes of it', async () => {
    const events = await recordedOf(async (passage) => {
      passage.found([{ kind: 'import', name: SECRET, line: 1, message: `It imports ${SECRET}.` }]);
      await passage.admit({ runtime: 'local', policy: { allowed_domains: [`${SECRET}.test`] } });
      await passage.end({
        ok: true,
        files: { [SECRET]: { bytes: 1, sha256: '00' } },
        network: { hosts: [{ host: `${SECRET}.test`, port: 443 }] },
        warnings: [SECRET],
      });
      const error = new SandboxError('FILE_NOT_FOUND', `There is no file ${SECRET}.`, { hint: '' });
      await passage.failing(() => Promise.reject(error)).catch(() => {});
    });
    expect(events.map(({ type }) => type)).toEqual([
      ...['request', 'finding', 'decision', 'started', 'ended', 'ended'],
    ]);
    expect(JSON.stringify(events)).not.toContain(SECRET);
    expect(events.at(-2)).toMatchObject({
      files: { '[redacted]': { bytes: 1, sha256: '00' } },
      network: { hosts: [{ host: '[redacted].test', port: 443 }] },
    });
    expect(events.at(-1)).toMatchObject({
      error: { code: 'FILE_NOT_FOUND', message: 'There is no file [redacted].' },
    });
  });

  it('still says which one it is and what was held, where a variable has such a value', async () => {
    const secrets = ['ended', 'execute', 'local', 'none', 'process', 'exited', 'allow', 'network'];
    const events = await recordedOf(async (passage) => {
      await passage.admit({ runtime: 'local', policy: { network: 'none', min_isolation: 'process' } });
      await passage.end({ ok: true, outcome: 'exited', enforced: { isolation: 'process', network: 'none' } });
    }, secrets);
    expect(events).toMatchObject([
      { type: 'request', id: 'ended', operation: 'execute' },
      { type: 'decision', verdict: 'allow' },
      { type: 'started', runtime: 'local', policy: { network: 'none', min_isolation: 'process' } },
      {
        ...{ type: 'ended', operation: 'execute', outcome: 'exited' },
        enforced: { isolation: 'process', network: 'none' },
      },
    ]);
  });
});
