import { describe, expect, it } from 'vitest';
import type { RecordedEvent, Recorder } from '../../audit/events.ts';
import type { NetworkDecision, Passing } from '../../egress/decision.ts';
import { SandboxError } from '../../errors.ts';
import type { Context } from '../context.ts';
import { Oversight } from './oversight.ts';
import { decisionsTo } from './sandboxes.ts';

const PASSING: Passing = {
  ...{ connection: 'c1', at: '2026-11-20T12:00:00.000Z', host: 'a.test', port: 443, via: 'connect' },
};
const DECISION: NetworkDecision = {
  ...{ at: '2026-11-20T12:00:01.000Z', host: 'a.test', port: 443, via: 'connect', allowed: true },
  ...{ bytesUp: 1, bytesDown: 2, durationSec: 3 },
};

function listening(recorder: Recorder, secrets: readonly string[] = []) {
  const oversight = new Oversight({ surface: 'library', recorder });
  const told: NetworkDecision[] = [];
  const about = () => ({ sandbox_id: 's1' });
  const options = { onNetwork: (decision: NetworkDecision) => void told.push(decision) };
  const context = { oversight } as unknown as Context;
  const { onPassing, onDecision } = decisionsTo(context, about, options, secrets);
  if (onPassing === undefined || onDecision === undefined) throw new Error('nobody listens');
  return { oversight, told, onPassing, onDecision };
}

function keeping() {
  const events: RecordedEvent[] = [];
  const recorder: Recorder = {
    async append(event) {
      events.push(event);
      return { seq: events.length, hash: '0'.repeat(64) };
    },
  };
  return { events, recorder };
}

describe('a decision about the network', () => {
  it('is recorded before anything passes, and its end with what passed', async () => {
    const { events, recorder } = keeping();
    const { told, onPassing, onDecision } = listening(recorder);
    await onPassing(PASSING);
    const asked = {
      sandbox_id: 's1',
      connection: 'c1',
      host: 'a.test',
      port: 443,
      via: 'connect',
      allowed: true,
    };
    expect(events).toEqual([{ type: 'network', ...asked, decided_at: PASSING.at }]);
    onDecision(DECISION, PASSING);
    expect(events.slice(1)).toEqual([
      { type: 'network_closed', ...asked, bytes_up: 1, bytes_down: 2, duration_sec: 3 },
    ]);
    expect(told).toEqual([DECISION]);
  });

  it('is recorded once where nothing passes, and without the values of variables', async () => {
    const { events, recorder } = keeping();
    const { onDecision } = listening(recorder, ['CorrectHorse']);
    const reason = 'Nobody may reach "correcthorse.evil.test".';
    onDecision({ ...DECISION, host: 'correcthorse.evil.test', allowed: false, code: 'not_listed', reason });
    expect(events).toMatchObject([
      { type: 'network', host: '[redacted].evil.test', allowed: false, code: 'not_listed' },
    ]);
    expect(JSON.stringify(events)).not.toContain('correcthorse');
  });

  it('that cannot be recorded lets nothing pass, and is told to whoever comes next', async () => {
    const failure = new SandboxError('AUDIT_UNAVAILABLE', 'The disk is full.', { hint: '' });
    let isFull = true;
    const { recorder } = keeping();
    const { oversight, onPassing } = listening({
      append: (event) => (isFull ? Promise.reject(failure) : recorder.append(event)),
    });
    await expect(onPassing(PASSING)).rejects.toBe(failure);
    isFull = false;
    await expect(oversight.record({ type: 'test' })).rejects.toBe(failure);
    await expect(oversight.record({ type: 'test' })).resolves.toMatchObject({ seq: 2 });
  });
});
