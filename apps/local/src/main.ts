import { shutdownSignal } from '@plainpath/http'
import { localSettings, PROJECT_FOLDER } from './local-settings.ts'
import { startLocal } from './start-local.ts'
import { firstWords, plainly, printedSteps } from './terminal.ts'

const print = (line: string) => console.log(line)

process.exitCode = await plainly(async () => {
  const stopped = shutdownSignal()
  const settings = localSettings(process.env, PROJECT_FOLDER)
  print(`Starting Plainpath at ${settings.origin}`)
  await using service = await startLocal(settings, process.env, { print, step: printedSteps(print) })
  for (const line of firstWords(settings)) print(line)
  const signal = await stopped
  print(`Stopping after ${signal}: requests under way may finish.`)
  void service
  return 0
})
