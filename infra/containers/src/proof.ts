import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from './engine.ts'
import type { Topology } from './run-topology.ts'

/** A row of the results page: what was tested or measured, and what was observed. */
export interface ResultRow {
  readonly subject: string
  readonly observed: string
}

/** The services of compose.yaml while they run, and the addresses at which this machine reaches them. */
export interface RunningTopology {
  readonly engine: Engine
  readonly topology: Topology
  readonly origin: string
  /** The page of the mail catcher, which shows the newest mails as JSON. */
  readonly mailUrl: string
}

/** The path of Node in the images. */
export const NODE = '/usr/local/bin/node'
export const INSTANCES = ['auth-1', 'auth-2', 'resource-1', 'resource-2']

/**
 * Compares an observation with the expected value.
 *
 * @throws {Error} with both values if they differ
 */
export function expectEqual(subject: string, observed: unknown, expected: unknown): void {
  if (JSON.stringify(observed) !== JSON.stringify(expected))
    throw new Error(`${subject}: ${JSON.stringify(observed)} instead of ${JSON.stringify(expected)}`)
}

/** Evaluates code with the Node of a service's container. Returns what the code prints. */
export const evaluateInContainer = ({ topology }: RunningTopology, service: string, code: string) =>
  topology.exec(service, NODE, '-e', code)

/**
 * Polls every 500 ms until `observe` returns a value, and returns that value.
 *
 * @throws {Error} that names the event, after `timeoutMs`; or an error of `observe`
 */
export async function waitFor<T>(
  event: string,
  observe: () => Promise<T | undefined>,
  timeoutMs = 60_000,
): Promise<T> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(500)) {
    const observed = await observe()
    if (observed !== undefined) return observed
  }
  throw new Error(`${event} did not happen within ${timeoutMs / 1000} s`)
}
