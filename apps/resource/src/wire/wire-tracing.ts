import type { Log } from '@plainpath/http'
import { API_VERSION } from '@plainpath/metadata'
import { openTracing, type Tracing } from '@plainpath/tracing'
import type { Config } from '../config.ts'

/** Traces of this app, where a collector is named. */
export const openTraces = ({ otlpUrl }: Config, log: Log): Promise<Tracing | undefined> =>
  openTracing({ url: otlpUrl, service: 'plainpath-resource', version: API_VERSION, log })
