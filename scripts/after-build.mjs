// Finishes dist/: the command must be executable, and editors want the settings' JSON Schema beside it.
import { chmodSync, writeFileSync } from 'node:fs';
import { settingsJsonSchema } from '../dist/config/jsonSchema.js';

chmodSync(new URL('../dist/cli/main.js', import.meta.url), 0o755);
const schema = `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`;
writeFileSync(new URL('../dist/settings.schema.json', import.meta.url), schema);
