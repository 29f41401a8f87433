import { type Log, runApp } from '@plainpath/http'
import type { Config } from './config.ts'
import { openResource } from './wire.ts'

/**
 * Runs the API until SIGTERM or SIGINT. It listens whatever is away at the start: guides and documents come from this
 * release, and what needs a store is 503 until there is one.
 */
export const serveResource = (config: Config, deps: { log: Log; now: () => Date }): Promise<void> =>
  runApp({
    ...config,
    ...deps,
    startupDependencies: {},
    isTransient: () => false,
    open: () => openResource(config, deps),
    listeners: ({ handler }) => ({ public: { ...config.public, handler } }),
  })
