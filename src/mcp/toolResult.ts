import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import type { ToolAnswer } from '../operations/tools/tool.ts';
import { outputUri, type StreamName } from './resourceUris.ts';

/** The answer in the form of the protocol. Pure. */
export function toolResult({ text, pictures, structured, isError, kept }: ToolAnswer): CallToolResult {
  return {
    content: [
      { type: 'text', text },
      ...pictures.map(({ mimeType, data }) => ({ type: 'image' as const, mimeType, data })),
      ...(kept === undefined ? [] : cutStreams(structured).map((stream) => wholeOutput(kept, stream))),
    ],
    structuredContent: { ...structured },
    isError,
  };
}

/** The streams of which not everything stands in the answer. */
function cutStreams(structured: ToolAnswer['structured']): StreamName[] {
  const meta = structured['meta'] as Readonly<Record<string, unknown>> | undefined;
  return (['stdout', 'stderr'] as const).filter((stream) => {
    const bytes = meta?.[`${stream}_bytes`];
    return typeof bytes === 'number' && bytes > Buffer.byteLength(String(structured[stream] ?? ''));
  });
}

function wholeOutput(
  { sandboxId, executionId }: NonNullable<ToolAnswer['kept']>,
  stream: StreamName,
): ContentBlock {
  return {
    type: 'resource_link',
    uri: outputUri(sandboxId, executionId, stream),
    name: `the whole ${stream}`,
    description: 'In pages of 65536 bytes: ?offset= takes the byte that a page begins with.',
    mimeType: 'text/plain',
  };
}
