import { shutdownSignal } from '@plainpath/http'
import { localSettings, PROJECT_FOLDER } from './local-settings.ts'
import { startLocal } from './start-local.ts'
import { printSteps, runProgram, welcomeLines } from './terminal.ts'

const print = (line: string) => console.log(line)

process.exitCode = await runProgram(async () => {
  const stopped = shutdownSignal()
  const settings = localSettings(process.env, PROJECT_FOLDER)
  print(`Starting Plainpath at ${settings.origin}`)
  await using service = await startLocal(settings, process.env, { print, step: printSteps(print) })
  for (const line of welcomeLines(settings)) print(line)
  const signal = await stopped
  print(`Stopping after ${signal}. Requests in flight are completed first.`)
  void service
  return 0
})
