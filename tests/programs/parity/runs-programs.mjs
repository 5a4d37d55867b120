import { spawnSync } from 'node:child_process';

const { status, stdout, stderr } = spawnSync('sh', ['-c', 'cat; echo err >&2; exit 3'], { input: 'in\n' });
console.log(status, String(stdout), String(stderr));
console.log(spawnSync('sh', ['-c', 'kill -9 $$']).signal);
