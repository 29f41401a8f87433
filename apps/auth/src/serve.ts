import { type Log, runApp } from '@plainpath/http'
import type { Config } from './config.ts'
import { isPassing, openNeeds } from './wire/wire-needs.ts'
import { openAuth } from './wire.ts'

/**
 * Runs the authorization server until SIGTERM or SIGINT. While a store is away at the start, only operators find it
 * listening: what it serves is signed with keys that it has not read.
 */
export async function serveAuth(config: Config, deps: { log: Log; now: () => Date }): Promise<void> {
  await using needs = openNeeds(config)
  await runApp({
    ...{ ...config, ...deps, isPassing },
    needs: needs.checks,
    open: () => openAuth(config, deps),
    listeners: ({ internalApp, publicApp }) => ({
      internal: { ...config.internal, handler: internalApp.callback() },
      public: { ...config.public, handler: publicApp.callback() },
    }),
  })
}
