import { createKit } from "kit";
import { trainer } from "./trainer.js";

export default createKit({ trainer });
