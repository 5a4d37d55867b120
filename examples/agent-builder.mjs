// An agent in five lines: a model that runs code in a sandbox until it can answer.
import { generateText, stepCountIs } from 'ai';
import { aiSdkTools } from 'glovebox/agent';
// With a key: import { anthropic } from '@ai-sdk/anthropic', and model: anthropic('claude-sonnet-5-5').
import { model } from './scripted-models.mjs';

const sandbox = await aiSdkTools();
const prompt = 'What is 6 times 7? Compute it with Python.';
const { text } = await generateText({ model, prompt, tools: sandbox.tools, stopWhen: stepCountIs(10) });
console.log(text);
await sandbox.close();
