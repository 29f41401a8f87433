import { describeCrawl } from '../crawl/crawl.contract.ts'
import { startSystem } from './start-system.ts'

describeCrawl('in one process', startSystem)
