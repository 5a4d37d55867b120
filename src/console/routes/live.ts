import type { Context } from 'hono';
import type { ShownExecution } from '../backend.ts';
import { eventsResponse } from '../events.ts';
import { frameOf } from '../frame.ts';
import { FRAME_HEADERS } from '../headers.ts';
import { outputTail } from '../outputTail.ts';
import { executionContent } from '../pages/execution.ts';
import { type Overview, overviewContent, sandboxContent } from '../pages/overview.ts';
import { shownLine } from '../shownText.ts';
import { notThere, parameter, type Site } from '../site.ts';

/** What lives and runs, and what is told of it as it happens. */
export function liveRoutes({ backend, desk, open, look, show }: Site): void {
  const all = async (): Promise<Overview> => ({
    questions: await backend.questions(),
    sandboxes: await backend.sandboxes(),
    executions: await backend.executions(),
  });
  const executionOf = async (context: Context): Promise<ShownExecution> => {
    const id = parameter(context, 'id');
    const execution = await backend.execution(id);
    if (execution !== undefined) return execution;
    throw notThere(`No execution ${JSON.stringify(id.slice(0, 100))} is kept (any more).`);
  };

  open('/', async (context) => {
    const who = await desk.whoAsks(context);
    if (who === undefined) return context.redirect('/sign-in', 303);
    // Who may only read the record has nothing else to see.
    if (!who.key.scopes.includes('approve')) return context.redirect('/audit', 303);
    return show(context, who, { title: 'Overview', section: '/', content: overviewContent(await all()) });
  });

  look('/sandboxes/:id', 'approve', async (context, who) => {
    const id = parameter(context, 'id');
    const overview = await all();
    const sandbox = overview.sandboxes.find((one) => one.id === id);
    if (sandbox === undefined)
      throw notThere(`No sandbox ${JSON.stringify(id.slice(0, 100))} lives (any more).`);
    const title = `Sandbox ${shownLine(id, 60)}`;
    return show(context, who, { title, content: sandboxContent(sandbox, overview) });
  });

  look('/executions/:id', 'approve', async (context, who) => {
    const execution = await executionOf(context);
    const output = await outputTail(backend.output(execution.id, { after: 0, follow: false }));
    const isOver = execution.state === 'ended' || execution.state === 'failed';
    return show(context, who, {
      title: 'Execution',
      content: executionContent(execution, output),
      ...(isOver ? {} : { output: { execution: execution.id, after: output.next } }),
    });
  });
  look('/executions/:id/results/:number', 'approve', async (context) => {
    const { richResults } = await executionOf(context);
    const rich = richResults[Number(parameter(context, 'number'))];
    const frame = rich === undefined ? undefined : frameOf(rich);
    if (!frame?.ok) throw notThere('There is no such result that is shown in a frame.');
    return context.html(frame.page, 200, FRAME_HEADERS);
  });

  open('/events', async (context) => {
    const who = await desk.whoListens(context);
    // Browsers come back after anything else.
    if (who === undefined || !who.key.scopes.includes('approve')) return context.body(null, 204);
    const execution = context.req.query('execution');
    const after = Number(context.req.header('last-event-id') || context.req.query('after') || 0);
    const isPlace = Number.isSafeInteger(after) && after >= 0;
    return eventsResponse(context, backend, {
      isSignedIn: async () => (await desk.whoListens(context)) !== undefined,
      ...(execution === undefined || !isPlace ? {} : { output: { execution, after } }),
    });
  });
}
