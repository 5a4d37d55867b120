import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteQueue } from './byteQueue.ts';

function takeAll(queue: ByteQueue): Buffer[] {
  const taken: Buffer[] = [];
  for (let next = queue.take(); next !== undefined; next = queue.take()) taken.push(next);
  return taken;
}

it('gives back what was put in, in order, whoever changes the pieces afterwards', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.uint8Array({ maxLength: 9000 }), fc.constant('take' as const)), { maxLength: 30 }),
      (steps) => {
        const queue = new ByteQueue();
        const [put, got]: Buffer[][] = [[], []];
        for (const step of steps) {
          if (step === 'take') {
            got?.push(queue.take() ?? Buffer.alloc(0));
          } else {
            put?.push(Buffer.from(step));
            queue.add(step);
            step.fill(0);
          }
        }
        got?.push(...takeAll(queue));
        expect(Buffer.concat(got ?? []).equals(Buffer.concat(put ?? []))).toBe(true);
      },
    ),
  );
});

it('gathers single bytes in few pieces', () => {
  const queue = new ByteQueue();
  for (let count = 0; count < 65_536; count++) queue.add(Buffer.of(1));
  expect(takeAll(queue)).toHaveLength(16);
});

it('holds nothing once it is cleared', () => {
  const queue = new ByteQueue();
  queue.add(Buffer.alloc(5000));
  queue.add(Buffer.alloc(10));
  queue.clear();
  expect(queue.take()).toBeUndefined();
});
