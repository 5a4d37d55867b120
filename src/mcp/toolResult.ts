import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import type { ToolAnswer } from '../operations/tools/tool.ts';
import { outputUri, type StreamName } from './resourceUris.ts';

/** The answer in the form of the protocol. Pure. */
export function toolResult({ text, pictures, structured, isError, kept }: ToolAnswer): CallToolResult {
  return {
    content: [
      { type: 'text', text },
      ...pictures.map(({ mimeType, data }) => ({ type: 'image' as const, mimeType, data })),
      ...(kept === undefined ? [] : STREAMS.map((stream) => wholeOutput(kept, stream))),
    ],
    structuredContent: { ...structured },
    isError,
  };
}

const STREAMS = ['stdout', 'stderr'] as const;

function wholeOutput(
  { sandboxId, executionId }: NonNullable<ToolAnswer['kept']>,
  stream: StreamName,
): ContentBlock {
  return {
    type: 'resource_link',
    uri: outputUri(sandboxId, executionId, stream),
    name: `the whole ${stream}`,
    description: 'Page by page: each page names the next one.',
    mimeType: 'text/plain',
  };
}
