/** The two that a program has. */
export type StreamName = 'stdout' | 'stderr';

/** Where a file of a sandbox is read. The path is below its workspace. */
export function fileUri(sandboxId: string, path: string): string {
  const relative = path.replace(/^\/workspace\//, '');
  return `glovebox://sandboxes/${sandboxId}/files/${relative.split('/').map(encodeURIComponent).join('/')}`;
}

/** Where a stream of an execution is read, from an offset in bytes. */
export function outputUri(
  sandboxId: string,
  executionId: string,
  stream: StreamName,
  offset?: number,
): string {
  const from = offset === undefined ? '' : `?offset=${offset}`;
  return `glovebox://sandboxes/${sandboxId}/executions/${executionId}/${stream}${from}`;
}
