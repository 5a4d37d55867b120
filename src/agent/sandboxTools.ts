import { z } from 'zod';
import type { Toolbox } from '../operations/tools/toolbox.ts';
import { TOOLS } from '../operations/tools/toolbox.ts';
import type { AgentTool, ObjectSchema } from './agentTool.ts';

/** The tools of a sandbox, called through one toolbox. */
export function sandboxTools(toolbox: Pick<Toolbox, 'call'>): readonly AgentTool[] {
  return TOOLS.map(({ name, description, input }) => ({
    ...{ name, description, parameters: schemaOf(input) },
    call: (given, options) => toolbox.call(name, given, options),
  }));
}

function schemaOf(input: z.ZodObject): ObjectSchema {
  // Without the address of the dialect, which some providers refuse.
  const { $schema: _dialect, ...schema } = z.toJSONSchema(input, { target: 'draft-7', io: 'input' });
  return { ...schema, type: 'object' };
}
