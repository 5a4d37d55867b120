// Finishes dist/: the command must be executable, and editors want the settings' JSON Schema beside it.
import { chmodSync, writeFileSync } from 'node:fs';
import { settingsJsonSchema } from '../dist/config/jsonSchema.js';

chmodSync(new URL('../dist/cli/main.js', import.meta.url), 0o755);
// The command is CommonJS in a package of ES modules.
writeFileSync(new URL('../dist/cli/package.json', import.meta.url), '{ "type": "commonjs" }\n');
const schema = `${JSON.stringify(settingsJsonSchema(), null, 2)}\n`;
writeFileSync(new URL('../dist/settings.schema.json', import.meta.url), schema);
