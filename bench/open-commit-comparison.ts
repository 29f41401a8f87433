import path from 'node:path'
import { compileApps } from '@plainpath/stack/start-app'
import { createMeasuredPaths, type MeasuredPath } from './measured-paths.ts'
import { openStores } from './testbed/open-stores.ts'
import { registerAgents } from './testbed/register-agents.ts'
import type { Baselines } from './testbed/start-baselines.ts'
import { startMeasuredApp } from './testbed/start-measured-app.ts'

/**
 * Starts both apps from another commit's code. They use their own stores, migrated with this work tree's migrations.
 *
 * @param root the root of a checkout of the other commit
 * @param paths the paths in this work tree
 * @param options.baselines the baselines of the testbed; `createMeasuredPaths` requires them, but the comparison does not use them
 * @param options.agentCount how many agents to register with the other commit's apps
 * @param options.folder the folder of the testbed; the other commit's stores and apps get a folder in it
 * @param options.nodeOptions options of Node for the other commit's apps
 * @returns the given paths, each with the same path at the other commit as its only baseline
 */
export async function openCommitComparison(
  root: string,
  paths: readonly MeasuredPath[],
  options: {
    readonly baselines: Baselines
    readonly agentCount: number
    readonly folder: string
    readonly nodeOptions: readonly string[]
  },
): Promise<{ readonly paths: readonly MeasuredPath[] } & AsyncDisposable> {
  const { baselines, agentCount, nodeOptions } = options
  await using opening = new AsyncDisposableStack()
  await compileApps(nodeOptions, root)
  const folder = path.join(options.folder, 'other')
  const stores = opening.use(await openStores(folder))
  const appOptions = { folder, nodeOptions, root, instanceNumber: 1 }
  const auth = opening.use(await startMeasuredApp(stores, { ...appOptions, app: 'auth' }))
  const api = opening.use(await startMeasuredApp(stores, { ...appOptions, app: 'resource', auths: [auth] }))
  const agents = await registerAgents(auth, agentCount)
  const otherPaths = await createMeasuredPaths({ baselines, stores, auth, api, agents })
  const comparedPaths = paths.map((measuredPath): MeasuredPath => {
    const otherPath = otherPaths.find(({ name }) => name === measuredPath.name)
    if (!otherPath) throw new Error(`there is no path ${measuredPath.name} at the other commit`)
    const { ours: target, cleanUp } = otherPath
    return { ...measuredPath, comparisons: [{ baseline: 'other', target, cleanUp }] }
  })
  const resources = opening.move()
  return { paths: comparedPaths, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}
