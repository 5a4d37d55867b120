/** Output without what differs from run to run: addresses in memory, and numbers of processes in warnings. */
export function masked(text: string): string {
  return text.replace(/0x[0-9a-f]{6,}/g, '0x…').replace(/^\(node:\d+\)|\(pid=\d+\)/gm, '(pid)');
}
