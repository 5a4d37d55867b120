// A `run code` tool for an agent: code in, one compact string out, never a throw.
import { runPythonCode } from 'glovebox';

const tool = {
  name: 'run_python',
  description: 'Runs Python and returns what it printed.',
  run: runPythonCode,
};
console.log(await tool.run('print(sum(range(101)))'));
console.log(await tool.run('print(undefined_name)'));
