/** Spans for whoever collects them: where nobody has asked for any, all of this does nothing. */
import { type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import { SandboxError } from '../errors.ts';
import { packageVersion } from '../version.ts';

export interface Telemetry {
  readonly tracer: Tracer;
  /** Sends what has not been sent. */
  close(): Promise<void>;
}

/** Sends spans where `OTEL_EXPORTER_OTLP_ENDPOINT` or `…_TRACES_ENDPOINT` says. Throws `CONFIG_INVALID` where it cannot. */
export async function openTelemetry(env: NodeJS.ProcessEnv): Promise<Telemetry> {
  const isWanted =
    (env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? '') !== '';
  const close = isWanted ? await startExporting() : async (): Promise<void> => {};
  return { tracer: trace.getTracer('glovebox', packageVersion()), close };
}

async function startExporting(): Promise<() => Promise<void>> {
  const [{ NodeTracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]).catch((error: unknown) => {
    throw new SandboxError(
      'CONFIG_INVALID',
      'Traces are asked for, and the packages that send them are missing.',
      {
        hint: 'Run: npm install @opentelemetry/sdk-trace-node @opentelemetry/exporter-trace-otlp-http; or unset OTEL_EXPORTER_OTLP_ENDPOINT.',
        cause: error,
      },
    );
  });
  const provider = new NodeTracerProvider({
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  return () => provider.shutdown();
}

/** Runs it within a span, which says how it ended. */
export function inSpan<T>(
  { tracer }: Telemetry,
  name: string,
  kind: 'server' | 'internal',
  run: (span: Span) => Promise<T>,
): Promise<T> {
  const options = { kind: kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL };
  return tracer.startActiveSpan(name, options, async (span) => {
    try {
      return await run(span);
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}
