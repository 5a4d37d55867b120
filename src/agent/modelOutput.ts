/** What a model is told of an answer, in the form of the AI SDK. Pure. */
import type { ModelMessage, ToolResultPart } from 'ai';
import type { ToolAnswer } from '../operations/tools/tool.ts';

/** The text, with its charts for a model that sees. */
export function modelOutput(
  { text, pictures, isError }: ToolAnswer,
  { seesPictures }: { readonly seesPictures: boolean },
): ToolResultPart['output'] {
  if (isError) return { type: 'error-text', value: text };
  if (pictures.length === 0 || !seesPictures) return { type: 'text', value: text };
  const shown = pictures.map(({ mimeType: mediaType, data }) => ({
    type: 'image-data' as const,
    data,
    mediaType,
  }));
  return { type: 'content', value: [{ type: 'text', text }, ...shown] };
}

/** The same message with its text alone: pictures are large, and a model has seen them once. */
export function withoutPictures(message: ModelMessage): ModelMessage {
  if (message.role !== 'tool') return message;
  return {
    ...message,
    content: message.content.map((part) => {
      if (part.type !== 'tool-result' || part.output.type !== 'content') return part;
      const texts = part.output.value.map((shown) =>
        shown.type === 'text' ? shown.text : '(a picture, shown before)',
      );
      return { ...part, output: { type: 'text' as const, value: texts.join('\n') } };
    }),
  };
}
