/** What is counted, for Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Summary } from './executions.ts';

/** Looked at whenever somebody asks. */
export interface Looks {
  readonly running: () => number;
  readonly queued: () => number;
  readonly sandboxes: () => number;
  readonly questions: () => number;
}

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export class Metrics {
  readonly #registry = new Registry();
  readonly #executions = new Counter({
    name: 'glovebox_executions_total',
    help: 'Executions that have ended, by how they ended.',
    labelNames: ['outcome', 'language'],
    registers: [this.#registry],
  });
  readonly #seconds = new Histogram({
    name: 'glovebox_execution_seconds',
    help: 'How long executions took.',
    buckets: SECONDS,
    registers: [this.#registry],
  });
  readonly #rejected = new Counter({
    name: 'glovebox_rejected_total',
    help: 'Requests that were refused, by the code of the error.',
    labelNames: ['code'],
    registers: [this.#registry],
  });
  readonly #requests = new Counter({
    name: 'glovebox_requests_total',
    help: 'Requests, by route and status.',
    labelNames: ['method', 'route', 'status'],
    registers: [this.#registry],
  });

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Begins to look. */
  watch(looks: Looks): void {
    collectDefaultMetrics({ register: this.#registry });
    this.#gauge('glovebox_executions_running', 'Executions that run.', looks.running);
    this.#gauge('glovebox_executions_queued', 'Executions that wait for a place.', looks.queued);
    this.#gauge('glovebox_sandboxes', 'Sandboxes that live.', looks.sandboxes);
    this.#gauge('glovebox_questions_waiting', 'Questions that wait for a person.', looks.questions);
  }

  /** One execution has ended; without a summary it failed before there was a result. */
  executed(summary: Summary | undefined): void {
    this.#executions.inc({ outcome: summary?.outcome ?? 'failed', language: summary?.language ?? 'none' });
    if (summary !== undefined) this.#seconds.observe(summary.durationSec);
  }

  rejected(code: string): void {
    this.#rejected.inc({ code });
  }

  answered(method: string, route: string, status: number): void {
    this.#requests.inc({ method, route, status: String(status) });
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #gauge(name: string, help: string, look: () => number): void {
    new Gauge({
      ...{ name, help, registers: [this.#registry] },
      collect() {
        this.set(look());
      },
    });
  }
}
