import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Tool } from '../operations/tools/tool.ts';

/** What `structured` holds where a call was refused, on every tool alike. */
const REFUSED = z.looseObject({
  error: z.looseObject({ code: z.string(), message: z.string(), hint: z.string() }),
});

/** Told to the client as it is; what comes is checked where it is used, with an answer that a model can use. */
export function toldInput({ input }: Tool): StandardSchemaWithJSON {
  return told(z.toJSONSchema(input, { io: 'input' }));
}

/**
 * What a call answers, or why it was refused: some clients hold an error to the schema as well, and would show nothing of
 * one that does not fit.
 */
export function toldOutput({ output }: Tool): StandardSchemaWithJSON {
  return told({ type: 'object', ...z.toJSONSchema(z.union([output, REFUSED]), { io: 'output' }) });
}

function told(schema: Record<string, unknown>): StandardSchemaWithJSON {
  const jsonSchema = { input: () => schema, output: () => schema };
  return {
    '~standard': { version: 1, vendor: 'glovebox', validate: (value) => ({ value }), jsonSchema },
  };
}
