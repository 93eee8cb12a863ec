/** The variable that names the folder with what threads begin with, compiled for the run. */
export const THREADS_OF_RUN = 'PAWL_TEST_THREADS'
