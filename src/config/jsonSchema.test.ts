import { describe, expect, it } from 'vitest';
import { settingsJsonSchema } from './jsonSchema.ts';
import { SETTING_KEYS, settingOf } from './settings.ts';
import { YAML_KEYS } from './yamlKeys.ts';

interface Node {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: boolean;
  readonly [keyword: string]: unknown;
}

const schema = settingsJsonSchema() as Node;
const sandbox = schema.properties?.['security']?.properties?.['sandbox'] as Node;

describe('settingsJsonSchema', () => {
  it('knows exactly the keys that a file may have', () => {
    expect([...keysOf(sandbox, '')].sort()).toEqual([...YAML_KEYS.keys()].sort());
  });

  it('describes every key and closes every mapping', () => {
    for (const node of nodesOf(schema)) {
      expect(node.description).toMatch(/\.$/);
      // A mapping with keys of the operator's own says what its values are.
      const open = node === sandbox.properties?.['network']?.properties?.['host_map'];
      if (node.type === 'object' && !open) expect(node.additionalProperties).toBe(false);
    }
  });

  it('tells type, bounds and default', () => {
    expect(sandbox.properties?.['memory_mb']).toEqual({
      type: 'integer',
      exclusiveMinimum: 0,
      maximum: 1_000_000_000,
      description: 'Memory limit in MB.',
      default: 512,
    });
    expect(sandbox.properties?.['runtime']).toMatchObject({ enum: expect.arrayContaining(['runsc']) });
    expect(sandbox.properties?.['network']?.properties).toMatchObject({
      enabled_by_default: { type: 'boolean', default: false },
      allowed_domains: { type: 'array', default: [] },
    });
  });

  it('refuses a key together with its alias', () => {
    const aliases = SETTING_KEYS.filter((key) => settingOf(key).alias !== undefined);
    expect(sandbox['allOf']).toHaveLength(aliases.length);
    expect(sandbox['allOf']).toContainEqual({
      not: {
        allOf: [
          { required: ['memory_mb'] },
          { required: ['limits'], properties: { limits: { required: ['max_memory_mb'] } } },
        ],
      },
    });
  });

  it('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });
});

function keysOf(node: Node, prefix: string): readonly string[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => [
    `${prefix}${name}`,
    ...keysOf(child, `${prefix}${name}.`),
  ]);
}

function nodesOf(node: Node): readonly Node[] {
  return [node, ...Object.values(node.properties ?? {}).flatMap(nodesOf)];
}
