import { waitForShutdownSignal } from '@plainpath/http'
import { PROJECT_FOLDER, readLocalSettings } from './local-settings.ts'
import { startLocal } from './start-local.ts'
import { createStepPrinter, formatWelcome, runProgram } from './terminal.ts'

const print = (line: string) => console.log(line)

process.exitCode = await runProgram(async () => {
  // Listens for signals before the start, because Node's default would kill the process in the middle of it.
  const shutdownSignal = waitForShutdownSignal()
  const settings = readLocalSettings(process.env, PROJECT_FOLDER)
  print(`Starting Plainpath at ${settings.origin}`)
  await using service = await startLocal(settings, process.env, { print, runStep: createStepPrinter(print) })
  for (const line of formatWelcome(settings)) print(line)
  const signal = await shutdownSignal
  print(`Stopping after ${signal}. Requests in flight are completed first.`)
  // The service is used only for its disposal, when this function returns.
  void service
  return 0
})
