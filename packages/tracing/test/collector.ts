import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CollectedSpan {
  readonly service: string
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
  readonly hasFailed: boolean
}

/** A trace collector that receives OTLP over HTTP as JSON and stores it in memory. */
export interface Collector extends AsyncDisposable {
  readonly url: string
  /** The body of each request, as text. */
  readonly bodies: readonly string[]
  listSpans(): CollectedSpan[]
}

interface ExportBody {
  resourceSpans: {
    resource: { attributes: Attribute[] }
    scopeSpans: {
      spans: {
        name: string
        traceId: string
        spanId: string
        parentSpanId?: string
        attributes: Attribute[]
        status: { code: number }
      }[]
    }[]
  }[]
}
interface Attribute {
  key: string
  /** Has one member, whose name is the type, such as `stringValue`. */
  value: Record<string, unknown>
}

/**
 * Starts a trace collector.
 *
 * @param options.isSilent true if the collector accepts requests but never responds
 */
export async function startCollector(options: { isSilent?: boolean } = {}): Promise<Collector> {
  const bodies: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString('utf8'))
      if (!options.isSilent) response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    listSpans: () => bodies.flatMap(readSpans),
    [Symbol.asyncDispose]: () => close(server),
  }
}

async function close(server: Server): Promise<void> {
  const closeEvent = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closeEvent
}

/** `STATUS_CODE_ERROR` of OTLP. */
const ERROR_STATUS = 2

function readSpans(body: string): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(body) as ExportBody
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId, attributes, status }) => ({
        service: String(toAttributeValues(resource.attributes)['service.name']),
        name,
        traceId,
        spanId,
        // A root span has no parent id, or an empty one.
        parentSpanId: parentSpanId || undefined,
        attributes: toAttributeValues(attributes),
        hasFailed: status.code === ERROR_STATUS,
      })),
    ),
  )
}

const toAttributeValues = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
