import { describeStopCommand, startStopSystem } from './stop.contract.ts'

describeStopCommand('PostgreSQL', () => startStopSystem({}))
