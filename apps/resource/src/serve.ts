import { type Log, runApp } from '@plainpath/http'
import type { Config } from './config.ts'
import { openResource } from './wire.ts'

/**
 * Runs the API until SIGTERM or SIGINT. It listens even if PostgreSQL, Redis or auth is unavailable. Then it serves the guides and
 * documents of this release, and routes that need a store respond with 503 until the store is available.
 */
export const serveResource = (config: Config, deps: { log: Log; now: () => Date }): Promise<void> =>
  runApp({
    ...config,
    ...deps,
    startupDependencies: {},
    // `openResource` does not fail while a store is unavailable, so none of its errors is transient.
    isTransient: () => false,
    open: () => openResource(config, deps),
    listeners: ({ handler }) => ({ public: { ...config.public, handler } }),
  })
