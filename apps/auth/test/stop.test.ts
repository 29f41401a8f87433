import { describeStopCommand, openStopSystem } from './stop.contract.ts'

describeStopCommand('PostgreSQL', () => openStopSystem({}))
