import { describe, expect, it } from 'vitest';
import { eventStream, type Tell } from './eventStream.ts';

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

  it('holds back everyone of several who tell at a time, and nobody for ever', async () => {
    let told = 0;
    const tellMany = async (tell: Tell): Promise<void> => {
      for (let count = 0; count < 20; count++, told++) await tell(line('x'.repeat(50_000)));
    };
    const response = eventStream(async (tell) => {
      await Promise.all([tellMany(tell), tellMany(tell), tellMany(tell)]);
    });
    const reader = response.body?.getReader();
    await reader?.read();
    await new Promise(setImmediate);
    expect(told).toBeLessThan(6);
    while (!(await reader?.read())?.done);
    expect(told).toBe(60);
  });

  it('lets everyone of several go on when the reader is gone', async () => {
    let response = new Response();
    const ended = new Promise<void>((resolve) => {
      response = eventStream(async (tell) => {
        const tellMany = async (): Promise<void> => {
          for (let count = 0; count < 10; count++) await tell(line('x'.repeat(50_000)));
        };
        await Promise.all([tellMany(), tellMany()]);
        resolve();
      });
    });
    // Both wait for room by then.
    await new Promise(setImmediate);
    await response.body?.cancel();
    await ended;
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
