import { filterOf, recordPage } from '../auditView.ts';
import { auditContent } from '../pages/audit.ts';
import { parameter, type Site } from '../site.ts';
import { Verification } from '../verification.ts';

/** The record, whether it is whole, and receipts from it. */
export function auditRoutes({ backend, now, look, show }: Site): void {
  const verification = new Verification(() => backend.verify(), now);
  look('/audit', 'audit', async (context, who) => {
    const text = (name: string): string => context.req.query(name)?.trim() ?? '';
    const query = {
      ...{ type: text('type'), operation: text('operation'), id: text('id'), sandbox: text('sandbox') },
      ...{ since: text('since'), until: text('until'), before: text('before') },
    };
    const records = await recordPage(backend.records(filterOf(query)), query);
    const content = auditContent(query, records, await verification.current());
    return show(context, who, { title: 'Audit', section: '/audit', refreshFrom: '/approvals', content });
  });
  look('/audit/receipts/:id', 'audit', async (context) => {
    const id = parameter(context, 'id');
    const receipt = await backend.receipt(id);
    const name = `receipt-${id.replace(/[^\w-]/g, '_').slice(0, 80)}.json`;
    return context.body(`${JSON.stringify(receipt, null, 2)}\n`, 200, {
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="${name}"`,
    });
  });
}
