import { describeStopCommand, openStopper } from './stop.contract.ts'

describeStopCommand('PostgreSQL', () => openStopper({}))
