/** What is counted, for Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { WarmPoolState, WarmTotals } from '../operations/warmth.ts';
import type { Summary } from './executions.ts';

/** Looked at whenever somebody asks. */
export interface Looks {
  readonly running: () => number;
  readonly queued: () => number;
  readonly sandboxes: () => number;
  readonly questions: () => number;
  /** What is kept ready; undefined where nothing was yet. */
  readonly warm: () => WarmPoolState | undefined;
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
    const warm = (what: 'idle' | 'inUse' | 'dying' | 'estimatedMb') => () => looks.warm()?.[what] ?? 0;
    this.#gauge('glovebox_warm_idle', 'Sandboxes that are kept ready.', warm('idle'));
    this.#gauge('glovebox_warm_in_use', 'Sandboxes that were kept ready and run now.', warm('inUse'));
    this.#gauge('glovebox_warm_dying', 'Sandboxes of these that are being ended.', warm('dying'));
    this.#gauge('glovebox_warm_estimated_mb', 'What those that are kept ready may use.', warm('estimatedMb'));
    const totals = () => looks.warm()?.totals ?? [];
    this.#warmCounter('glovebox_warm_taken_total', 'Executions that found one ready.', 'taken', totals);
    this.#warmCounter('glovebox_warm_missed_total', 'Executions that found none ready.', 'missed', totals);
    this.#warmCounter('glovebox_warm_made_total', 'Sandboxes that were made ready.', 'made', totals);
    this.#warmCounter('glovebox_warm_failed_total', 'Sandboxes that could not be.', 'failed', totals);
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

  #warmCounter(
    name: string,
    help: string,
    what: 'taken' | 'missed' | 'made' | 'failed',
    totals: () => readonly WarmTotals[],
  ): void {
    new Counter({
      ...{ name, help, labelNames: ['runtime', 'language'], registers: [this.#registry] },
      collect() {
        this.reset();
        for (const { runtime, language, [what]: count } of totals()) this.inc({ runtime, language }, count);
      },
    });
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
