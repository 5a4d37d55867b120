import { McpServer } from '@modelcontextprotocol/server';
import { expect, it, onTestFinished } from 'vitest';
import type { Session } from '../session.ts';
import { Sessions } from './sessions.ts';

const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: {
    ...{ protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  },
};

it('ends a session by the time since its last call ended, however long that took', async () => {
  const session = {
    isBusy: false,
    server: () => new McpServer({ name: 'test', version: '1' }),
    close: async () => {},
  };
  let now = 0;
  const sessions = new Sessions({
    open: () => session as unknown as Session,
    ...{ maxSessions: 1, idleSec: 60, maxBodyBytes: 10_000, onWarning: () => {}, clock: () => now },
  });
  onTestFinished(() => sessions.close());
  await sessions.fetch(
    new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(INITIALIZE),
    }),
  );
  const countAt = (sec: number, isBusy: boolean): number => {
    now = sec * 1000;
    session.isBusy = isBusy;
    sessions.endIdle();
    return sessions.count;
  };
  expect([countAt(100, true), countAt(101, false), countAt(160, false), countAt(161, false)]).toEqual([
    1, 1, 1, 0,
  ]);
});
