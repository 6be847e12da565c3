import { createKit } from "kit";
import { trainer } from "./trainer";

export default createKit({ trainer });
