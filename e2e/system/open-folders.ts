/** The folders of the systems that are open in this process. They contain the log files. */
export const openFolders = new Set<string>()
