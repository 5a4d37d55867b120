import { describe, expect, it } from 'vitest';
import { eventStream } from './eventStream.ts';

const line = (data: string) => ({ type: 'output', stream: 'stdout', data }) as const;

describe('a stream of events', () => {
  it('is one JSON object on each line', async () => {
    const response = eventStream(async (tell) => {
      await tell(line('a\n'));
      await tell({ type: 'accepted', execution: 'id' });
    });
    expect(response.headers.get('content-type')).toBe('application/x-ndjson');
    expect((await response.text()).split('\n')).toEqual([
      '{"type":"output","stream":"stdout","data":"a\\n"}',
      '{"type":"accepted","execution":"id"}',
      '',
    ]);
  });

  it('holds back whoever tells more than is read', async () => {
    let told = 0;
    const response = eventStream(async (tell) => {
      for (; told < 100; told++) await tell(line('x'.repeat(50_000)));
    });
    const reader = response.body?.getReader();
    await reader?.read();
    // It waits for nothing else: were it not held back, it would be through by then.
    await new Promise(setImmediate);
    expect(told).toBeLessThan(5);
    while (!(await reader?.read())?.done);
    expect(told).toBe(100);
  });

  it('says when the reader is gone, and lets whoever tells go on to the end', async () => {
    let response = new Response();
    const ended = new Promise<boolean>((resolve) => {
      response = eventStream(async (tell, gone) => {
        for (let count = 0; count < 10; count++) await tell(line('x'.repeat(50_000)));
        resolve(gone.aborted);
      });
    });
    await response.body?.cancel();
    expect(await ended).toBe(true);
  });
});
