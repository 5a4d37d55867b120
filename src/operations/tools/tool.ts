/** What an agent is given: six tools, written once for every surface that hands them to a model. */
import type { z } from 'zod';
import type { OnOutput } from '../../result/output.ts';

export const TOOL_NAMES = [
  'code_execute',
  'code_install_package',
  'code_write_file',
  'code_read_file',
  'code_list_files',
  'code_destroy_sandbox',
] as const;
export type ToolName = (typeof TOOL_NAMES)[number];

/** What a client may assume of a tool, by the names of the Model Context Protocol. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** One tool as it is told to a model; names in its schemas are snake_case. */
export interface Tool {
  readonly name: ToolName;
  /** For a person. */
  readonly title: string;
  /** For a model. */
  readonly description: string;
  readonly input: z.ZodObject;
  /** Of `structured` where it is no error. */
  readonly output: z.ZodObject;
  readonly annotations: ToolAnnotations;
}

export interface ToolCallOptions {
  /** Ends what was asked for. */
  readonly signal?: AbortSignal;
  /** Output as it comes, all of it; a returned promise holds the program back. */
  readonly onOutput?: OnOutput;
}

export interface ToolPicture {
  readonly mimeType: 'image/png' | 'image/jpeg';
  /** Base64. */
  readonly data: string;
}

/** What a call came to. A program that fails, a refusal and bad input are answers as well: nothing is thrown. */
export interface ToolAnswer {
  /** One compact text for a model. */
  readonly text: string;
  /** By the output schema of the tool; where `isError`, `{ error: { code, message, hint, details } }`. */
  readonly structured: Readonly<Record<string, unknown>>;
  /** Charts. */
  readonly pictures: readonly ToolPicture[];
  /** It was not done: bad input, refused, denied, or a question is still open. A program that failed was done. */
  readonly isError: boolean;
  /** Where the whole output can be read, page by page. */
  readonly kept?: { readonly sandboxId: string; readonly executionId: string };
}
